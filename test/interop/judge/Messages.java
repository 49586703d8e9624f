import com.alibaba.fastjson2.JSONArray;
import com.alibaba.fastjson2.JSONObject;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;

/** Messages between JSON and RocketMQ: bytes are hex, hosts {address, port}, properties in stored form. */
final class Messages {
    private static final HexFormat HEX = HexFormat.of();

    static MessageExtBrokerInner single(JSONObject given) throws Exception {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        fill(message, given);
        message.setBody(HEX.parseHex(given.getString("body")));
        message.setFlag(given.getIntValue("flag"));
        String properties = given.getString("properties");
        MessageAccessor.setProperties(message, MessageDecoder.string2messageProperties(properties));
        message.setPropertiesString(properties);
        return message;
    }

    static MessageExtBatch batch(JSONObject given) throws Exception {
        MessageExtBatch message = new MessageExtBatch();
        fill(message, given);
        message.setPropertiesString("");
        JSONArray parts = given.getJSONArray("batch");
        ByteBuffer bytes = ByteBuffer.allocate(1 << 20);
        for (int i = 0; i < parts.size(); i++) {
            JSONObject part = parts.getJSONObject(i);
            byte[] body = HEX.parseHex(part.getString("body"));
            byte[] properties = part.getString("properties").getBytes(StandardCharsets.UTF_8);
            bytes.putInt(22 + body.length + properties.length).putInt(0).putInt(0);
            bytes.putInt(part.getIntValue("flag")).putInt(body.length).put(body);
            bytes.putShort((short) properties.length).put(properties);
        }
        byte[] body = new byte[bytes.flip().remaining()];
        bytes.get(body);
        message.setBody(body);
        return message;
    }

    private static void fill(MessageExtBrokerInner message, JSONObject given) throws Exception {
        message.setTopic(given.getString("topic"));
        message.setQueueId(given.getIntValue("queueId"));
        message.setSysFlag(given.getIntValue("sysFlag"));
        message.setReconsumeTimes(given.getIntValue("reconsumeTimes"));
        message.setPreparedTransactionOffset(given.getLongValue("preparedTransactionOffset"));
        message.setBornTimestamp(given.getLongValue("bornTimestamp"));
        message.setBornHost(host(given.getJSONObject("bornHost")));
        message.setStoreHost(host(given.getJSONObject("storeHost")));
        if (((InetSocketAddress) message.getBornHost()).getAddress().getAddress().length == 16) {
            message.setBornHostV6Flag();
        }
        if (((InetSocketAddress) message.getStoreHost()).getAddress().getAddress().length == 16) {
            message.setStoreHostAddressV6Flag();
        }
    }

    private static SocketAddress host(JSONObject given) throws Exception {
        byte[] address = HEX.parseHex(given.getString("address"));
        return new InetSocketAddress(InetAddress.getByAddress(address), given.getIntValue("port"));
    }

    /** Decoding that decompresses takes the compressed bit away: the body comes beside the message. */
    static Map<String, Object> described(long offset, MessageExt message, byte[] body) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("offset", offset);
        answer.put("topic", message.getTopic());
        answer.put("queueId", message.getQueueId());
        answer.put("queueOffset", message.getQueueOffset());
        answer.put("physicalOffset", message.getCommitLogOffset());
        answer.put("size", message.getStoreSize());
        answer.put("flag", message.getFlag());
        answer.put("sysFlag", message.getSysFlag());
        answer.put("bornTimestamp", message.getBornTimestamp());
        answer.put("bornHost", host(message.getBornHost()));
        answer.put("storeTimestamp", message.getStoreTimestamp());
        answer.put("storeHost", host(message.getStoreHost()));
        answer.put("reconsumeTimes", message.getReconsumeTimes());
        answer.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        answer.put("msgId", message.getMsgId());
        answer.put("body", HEX.formatHex(body == null ? new byte[0] : body));
        answer.put("properties", message.getProperties());
        return answer;
    }

    private static String host(SocketAddress host) {
        InetSocketAddress address = (InetSocketAddress) host;
        return HEX.formatHex(address.getAddress().getAddress()) + ":" + address.getPort();
    }
}
